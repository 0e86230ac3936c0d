import { answerIn, type Visit } from "../records/Visit.ts";
import { callOfResult, envelopeKeyOf, resultsIn, type StoredValue, withOutputs } from "../values/valueCodec.ts";
import { nextVisitOf, type AgentState } from "./AgentState.ts";
import type { BlobCell, BlobCells } from "../values/BlobCell.ts";
import { addBlobReference } from "../records/blobReferences.ts";

/**
 * Returns a state that needs no earlier records: messages contain their values, and only the responses and calls remain
 * that the next node needs. The messages of `known` already contain their values.
 */
export function leanState(state: AgentState, known?: AgentState): AgentState {
  const [base] = nextVisitOf(state);
  const input = state.checkpoint?.record.input;
  const isNeeded = (id: string, { visit }: { readonly visit: Visit }, named: ReadonlySet<string>) =>
    visit[0] === base || named.has(id);
  const namedAnswers = answersOfInput(state);
  const since = Math.min(...[...namedAnswers].map((key) => state.answers.get(key)?.order ?? Infinity));
  const namedCalls = new Set(resultsIn(input).map(callOfResult));
  const calls = new Map([...state.calls].filter(([id, call]) => isNeeded(id, call, namedCalls) || call.order > since));
  return {
    ...state,
    history: state.history.map((entry, at) => {
      if (entry === known?.history[at]) return entry;
      const message = byValue(entry.message, state);
      return message === entry.message ? entry : { number: entry.number, message };
    }),
    answers: new Map([...state.answers].filter(([key, answer]) => isNeeded(key, answer, namedAnswers))),
    calls,
    notes: state.notes.filter(({ call = "" }) => calls.has(call)),
  };
}

/** Returns the keys of the recorded responses that are, or are in, the input of the next node. */
export function answersOfInput({ answers, checkpoint, history }: AgentState): ReadonlySet<string> {
  const input = checkpoint?.record.input;
  const number = envelopeKeyOf(input) === "$message" ? (input as { readonly $message: unknown }).$message : undefined;
  const slot = number === undefined ? input : history.findLast((entry) => entry.number === number)?.message;
  const named = answerIn(slot);
  if (named !== undefined) return new Set(answers.has(named) ? [named] : []);
  // The message is the same object as in the response, if references were already replaced.
  const isSame = typeof slot === "object" && slot !== null;
  return new Set(isSame ? [...answers].flatMap(([key, { message }]) => (message === slot ? key : [])) : []);
}

type References = { readonly [Name in "answers" | "calls"]: Pick<AgentState[Name], "get"> };

/** Replaces references to responses and outcomes by their values. */
export function byValue(slot: StoredValue, { answers, calls }: References): StoredValue {
  const answer = answerIn(slot);
  if (answer !== undefined) return answers.get(answer)?.message ?? slot;
  return withOutputs(slot, (call) => calls.get(call)?.outcome);
}

/** Returns the blobs that a run needs to continue from a state. Omits blobs of messages in `known`. */
export function stateReferences(state: AgentState, known?: AgentState): BlobCells {
  const references = new Map<string, BlobCell>();
  const { history, storage, settings, structure, checkpoint, run } = state;
  const own = [settings?.parameters, structure?.structure, checkpoint?.record.input, run?.input];
  const messages = history.filter((entry, at) => entry !== known?.history[at]).map(({ message }) => message);
  for (const slot of [...messages, ...storage.values(), ...own]) addBlobReference(byValue(slot, state), references);
  for (const slot of slotsOfVisit(state, nextVisitOf(state)[0])) addBlobReference(slot, references);
  return references;
}

function slotsOfVisit({ answers, calls, requests, notes }: AgentState, base: number): readonly StoredValue[] {
  const isOfVisit = ({ visit }: { readonly visit: Visit }) => visit[0] === base;
  return [
    ...[...answers.values()].filter(isOfVisit).map(({ message }) => message),
    ...[...calls.values()]
      .filter(isOfVisit)
      .flatMap(({ intent, outcome }) => [intent?.input, outcome?.input, outcome?.output, outcome?.changes]),
    ...[...requests.values()]
      .filter(({ record }) => isOfVisit(record))
      .flatMap(({ record, reply }) => [record.prompt, record.schema, record.approval?.input, reply?.answer]),
    ...notes.filter(({ call = "" }) => calls.get(call)?.visit[0] === base).map(({ value }) => value),
  ];
}
