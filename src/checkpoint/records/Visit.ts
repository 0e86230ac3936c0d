import { type AnswerReference, envelopeKeyOf, type StoredValue } from "../values/valueCodec.ts";

/** Identifies the execution of a node, by the version of the previous checkpoint and the number of executions since. */
export type Visit = readonly [base: number, ordinal: number];

/** Returns the key of a model response: the node execution, the number of the request, and the tool call around it. */
export function answerKey(visit: Visit, ordinal: number, within?: string | null): string {
  return `${visit[0]}.${visit[1]}.${ordinal}${within ? `.${within}` : ""}`;
}

/** Returns the key of a failed model request. @param place - the key of the next response to the node. */
export function failureKey(place: string, number: number): string {
  return `${place} ${number}`;
}

export function answerKeyOf([base, ordinal, request, within]: AnswerReference): string {
  return answerKey([base, ordinal], request, within);
}

/** Returns the key of the model response that a value refers to. `undefined` for any other value. */
export function answerIn(slot: StoredValue): string | undefined {
  if (envelopeKeyOf(slot) !== "$answer") return undefined;
  return answerKeyOf((slot as { readonly $answer: AnswerReference }).$answer);
}

/** Returns whether a node execution is `from`, or a later one with the same preceding checkpoint. */
export function isSinceVisit([base, ordinal]: Visit, from: Visit): boolean {
  return base === from[0] && ordinal >= from[1];
}

export function isSameVisit(a: Visit | undefined, b: Visit | undefined): boolean {
  return a?.[0] === b?.[0] && a?.[1] === b?.[1];
}
