// The microphone as a WAV file: 16 kHz, one channel, 16 bits. Needs no codec.

const RATE = 16000;
const LONGEST = 300; // seconds, what the API hears

export const canRecord = () => Boolean(navigator.mediaDevices?.getUserMedia && globalThis.AudioWorkletNode);

export class Recorder {
  /** Asks for the microphone and records; `tick` hears the seconds so far. */
  static async start(tick) {
    const stream = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1 } });
    const context = new AudioContext();
    await context.audioWorklet.addModule("playground/microphone.js");
    return new Recorder(stream, context, tick);
  }

  constructor(stream, context, tick) {
    this.stream = stream;
    this.context = context;
    this.chunks = [];
    let samples = 0;
    const source = context.createMediaStreamSource(stream);
    this.node = new AudioWorkletNode(context, "microphone", { numberOfOutputs: 0 });
    this.node.port.onmessage = ({ data }) => {
      if (samples > LONGEST * context.sampleRate) return;
      this.chunks.push(data);
      samples += data.length;
      tick(samples / context.sampleRate);
    };
    source.connect(this.node);
  }

  /** The recording as a WAV blob. */
  async stop() {
    this.node.port.onmessage = null;
    for (const track of this.stream.getTracks()) track.stop();
    const rate = this.context.sampleRate;
    await this.context.close();
    const total = this.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    if (!total) throw new Error("the microphone gave no sound");
    return wav(await resampled(this.chunks, total, rate));
  }
}

/** The samples at 16 kHz. The browser's own resampler filters what the lower rate cannot hold. */
async function resampled(chunks, total, rate) {
  const offline = new OfflineAudioContext(1, Math.max(1, Math.round((total * RATE) / rate)), RATE);
  const buffer = offline.createBuffer(1, total, rate);
  let at = 0;
  for (const chunk of chunks) {
    buffer.copyToChannel(chunk, 0, at);
    at += chunk.length;
  }
  const source = new AudioBufferSourceNode(offline, { buffer });
  source.connect(offline.destination);
  source.start();
  return (await offline.startRendering()).getChannelData(0);
}

function wav(samples) {
  const view = new DataView(new ArrayBuffer(44 + samples.length * 2));
  const text = (at, letters) => [...letters].forEach((letter, index) => view.setUint8(at + index, letter.charCodeAt(0)));
  text(0, "RIFF");
  view.setUint32(4, 36 + samples.length * 2, true);
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true); // bytes of the format
  view.setUint16(20, 1, true); // whole numbers
  view.setUint16(22, 1, true); // channels
  view.setUint32(24, RATE, true);
  view.setUint32(28, RATE * 2, true); // bytes a second
  view.setUint16(32, 2, true); // bytes a sample
  view.setUint16(34, 16, true); // bits a sample
  text(36, "data");
  view.setUint32(40, samples.length * 2, true);
  samples.forEach((sample, index) => {
    view.setInt16(44 + index * 2, Math.max(-1, Math.min(1, sample)) * 32767, true);
  });
  return new Blob([view], { type: "audio/wav" });
}
