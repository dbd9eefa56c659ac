// @typesafe-ai/sdk and @ai-sdk/typesafe-ai: all types, pictures as an extra field, errors.

import assert from "node:assert";
import { readFileSync } from "node:fs";
import { createTypeSafeAi } from "@ai-sdk/typesafe-ai";
import { TypeSafeClient, choice, noul, score } from "@typesafe-ai/sdk";

const [url, demo] = process.argv.slice(2);
const state = "I was charged twice. I want my money back today.";
const client = new TypeSafeClient({ baseURL: url, apiKey: "k" });
const questions = {
  refund: noul("Does the customer ask for money back?"),
  team: choice("Which team?", { billing: "payments, refunds", technical: null }),
  urgency: score("How urgent?", ["can wait", "today"]),
};
const told = await client.systemOne({ model: "jev-latest", state, questions });
assert.equal(told.model, "nano");
assert(told.answers.refund.noul > 0.5);
assert.equal(told.answers.team.choice, "billing");
assert.deepEqual(told.answers.urgency.legend, { 0: "can wait", 1: "today" });
const photo = `data:image/jpeg;base64,${readFileSync(`${demo}/photo.jpg`).toString("base64")}`;
const seen = await client.systemOne({ model: "jev-latest", state: "A picture.", questions, images: [photo] });
assert(seen.usage.input_tokens > told.usage.input_tokens);
await assert.rejects(client.systemOne({ model: "nobody", state, questions }), /Unknown model: nobody/);

const model = createTypeSafeAi({ baseURL: `${url}/v1`, apiKey: "k" }).evaluationModel("jev-latest");
const { answers } = await model.doEvaluate({
  state,
  questions: {
    refund: { type: "boolean", instructions: "Does the customer ask for money back?" },
    team: { type: "choice", instructions: "Which team?", criteria: { billing: "payments", technical: "bugs" } },
  },
});
assert(Object.keys(answers).length === 2, JSON.stringify(answers));
console.log(JSON.stringify(answers));
