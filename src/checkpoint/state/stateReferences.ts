import { answerKey, nextVisitOf, type AgentState } from "./AgentState.ts";
import type { BlobCell, BlobCells } from "../values/BlobCell.ts";
import { addBlobReference } from "../records/blobReferences.ts";
import { type AnswerReference, envelopeKeyOf, type StoredResult, type StoredValue } from "../values/valueCodec.ts";

/** The blobs that a state needs to go on from: those of its history, storage and settings, and of the visit that runs next. */
export function stateReferences(state: AgentState): BlobCells {
  const references = new Map<string, BlobCell>();
  const { history, storage, settings, structure, checkpoint, run, answers, calls, notes, requests } = state;
  const own = [settings?.parameters, structure?.structure, checkpoint?.record.input, run?.input];
  for (const slot of [...history.map(({ message }) => message), ...storage.values(), ...own]) {
    for (const resolved of resolve(slot, state)) addBlobReference(resolved, references);
  }
  const [base] = nextVisitOf(state);
  for (const { visit, message } of answers.values()) if (visit[0] === base) addBlobReference(message, references);
  for (const { visit, intent, outcome } of calls.values()) {
    if (visit[0] !== base) continue;
    for (const slot of [intent?.input, outcome?.input, outcome?.output]) addBlobReference(slot, references);
  }
  const asked = [...requests.values()].filter(({ record }) => record.visit[0] === base);
  for (const slot of asked.flatMap(({ record, reply }) => [record.prompt, record.schema, reply?.answer]))
    addBlobReference(slot, references);
  for (const { call = "", value } of notes) if (calls.get(call)?.visit[0] === base) addBlobReference(value, references);
  return references;
}

/** The values that a slot stands for on its line. A reference to a message is met with the history. */
function resolve(slot: StoredValue, { answers, calls }: AgentState): readonly StoredValue[] {
  const key = envelopeKeyOf(slot);
  if (key === "$answer") {
    const [base, ordinal, request, within] = (slot as { readonly $answer: AnswerReference }).$answer;
    return [answers.get(answerKey([base, ordinal], request, within))?.message];
  }
  if (key !== "$outcomes") return [slot];
  const results = (slot as { readonly $outcomes: readonly StoredResult[] }).$outcomes;
  return results.map(({ part, output }) => output ?? calls.get(String(part["toolCallId"]))?.outcome?.output);
}
