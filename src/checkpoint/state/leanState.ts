import { answerIn, type Visit } from "../records/Visit.ts";
import { callOfResult, envelopeKeyOf, resultsIn, type StoredValue, withOutputs } from "../values/valueCodec.ts";
import { nextVisitOf, type AgentState } from "./AgentState.ts";

/**
 * Returns a state with less data, so that the original records can be discarded. Messages are by value. Responses and
 * calls are kept only if the next visit or its input needs them. All calls since the response in the input are kept.
 *
 * @param known An earlier lean state. Messages at the same position in it are already by value.
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

/** Returns the keys of the recorded responses that the input of the next node is or refers to. */
export function answersOfInput({ answers, checkpoint, history }: AgentState): ReadonlySet<string> {
  const input = checkpoint?.record.input;
  const number = envelopeKeyOf(input) === "$message" ? (input as { readonly $message: unknown }).$message : undefined;
  const slot = number === undefined ? input : history.findLast((entry) => entry.number === number)?.message;
  const named = answerIn(slot);
  if (named !== undefined) return new Set(answers.has(named) ? [named] : []);
  // In a lean state, the message is the value of the response.
  const isSame = typeof slot === "object" && slot !== null;
  return new Set(isSame ? [...answers].flatMap(([key, { message }]) => (message === slot ? key : [])) : []);
}

type References = { readonly [Name in "answers" | "calls"]: Pick<AgentState[Name], "get"> };

/** Replaces references to responses and outcomes by their values. The history contains referenced messages. */
export function byValue(slot: StoredValue, { answers, calls }: References): StoredValue {
  const answer = answerIn(slot);
  if (answer !== undefined) return answers.get(answer)?.message ?? slot;
  return withOutputs(slot, (call) => calls.get(call)?.outcome);
}
