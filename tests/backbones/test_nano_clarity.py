"""What the encoder can read, on the model's own weights: English yes, other scripts and languages no."""

import hashlib

import pytest

from omniclef.backbones.nano.assets import Assets
from omniclef.backbones.nano.clarity import UNKNOWN
from omniclef.model import embedded

ENGLISH = "I was charged twice and nobody answers my questions, so I want my money back."
FOREIGN = {
    "Chinese": "我被重复收费了,没有人回答我的问题,我要求退款。",
    "Japanese": "二重に請求されましたが、誰も答えてくれません。返金してください。",
    "Korean": "두 번 청구되었는데 아무도 대답하지 않습니다. 환불해 주세요.",
    "Arabic": "تم خصم المبلغ مرتين ولا أحد يجيب على أسئلتي، أريد استرداد أموالي.",
    "Hebrew": "חויבתי פעמיים ואף אחד לא עונה לי, אני רוצה את הכסף בחזרה.",
    "Russian": "С меня дважды списали деньги, и никто не отвечает, верните мне деньги.",
    "Greek": "Με χρέωσαν δύο φορές και κανείς δεν απαντά, θέλω τα χρήματά μου πίσω.",
    "Hindi": "मुझसे दो बार पैसे लिए गए और कोई जवाब नहीं देता, मुझे पैसे वापस चाहिए।",
    "Thai": "ฉันถูกเรียกเก็บเงินสองครั้งและไม่มีใครตอบคำถามของฉันเลยฉันต้องการเงินคืน",
    "Thai, in words": "ฉันต้องการเงินคืน เพราะ บริการแย่มาก และ ไม่มีใครตอบ คำถามของฉัน",
    "Khmer": "ខ្ញុំចង់បានលុយវិញព្រោះសេវាកម្មអន់ណាស់",
    "German": "Mir wurde der Betrag zweimal abgebucht, und seit drei Wochen antwortet niemand auf meine Fragen. "
    "Ich möchte mein Geld zurück, sonst kündige ich den Vertrag und wende mich an die Verbraucherzentrale.",
    "Spanish": "Me han cobrado dos veces y nadie contesta a mis preguntas, así que quiero que me devuelvan el dinero.",
    "Turkish": "Benden iki kez ücret alındı ve kimse sorularıma cevap vermiyor, paramı geri istiyorum.",
}


@pytest.fixture(scope="module")
def assets() -> Assets:
    return Assets(embedded()["nano"], threads=1)


@pytest.fixture(scope="module")
def clarity(assets):
    def of(*texts: str) -> float:
        read = assets.text.encode(texts)
        return assets.clarity((text, read[text].ids, read[text].spans) for text in texts)

    return of


def test_the_unknown_piece_is_the_tokenizers(assets):
    assert assets.text.tokenizer.token_to_id("[UNK]") == UNKNOWN


@pytest.mark.parametrize("language", FOREIGN)
def test_what_it_cannot_read(clarity, language):
    assert clarity(FOREIGN[language]) < 0.1


@pytest.mark.parametrize(
    "text",
    [
        ENGLISH,
        "refund",
        "ok",
        "yes please",
        "top up my card",
        "order 1182: 3 x 49.90",
        "def total(items): return sum(item.price for item in items)",
        "HTTP 503 from /api/v1/orders",
        "Müller paid at the café in São Paulo",
    ],
)
def test_what_it_can_read(clarity, text):
    assert clarity(text) > 0.9


def test_a_hash_makes_no_text_foreign(clarity):
    key = hashlib.sha512(b"key").hexdigest()
    assert clarity(f"{ENGLISH} My session is {key}") == pytest.approx(clarity(f"{ENGLISH} My session is"), abs=0.05)
    assert clarity(key) > 0.5


def test_nothing_at_all_is_readable(clarity):
    assert clarity() == clarity("") == 1.0


def test_texts_count_together(clarity):
    assert clarity(ENGLISH, FOREIGN["Russian"] * 3) < 0.5 < clarity(ENGLISH * 6, FOREIGN["Thai"][:12])
