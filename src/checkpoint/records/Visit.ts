import { type AnswerReference, envelopeKeyOf, type StoredValue } from "../values/valueCodec.ts";

/** Identifies a visit: the version of the preceding checkpoint, and the number of visits since then. */
export type Visit = readonly [base: number, ordinal: number];

/**
 * Returns the key of a model response in a state: the visit, the number of the request, and the enclosing tool call.
 */
export function answerKey(visit: Visit, ordinal: number, within?: string | null): string {
  return `${visit[0]}.${visit[1]}.${ordinal}${within ? `.${within}` : ""}`;
}

/** Returns the key of a failed model request. @param place The key of the response to a later request. */
export function failureKey(place: string, number: number): string {
  return `${place} ${number}`;
}

export function answerKeyOf([base, ordinal, request, within]: AnswerReference): string {
  return answerKey([base, ordinal], request, within);
}

/** Returns the key of the model response that a value refers to. `undefined` for other values. */
export function answerIn(slot: StoredValue): string | undefined {
  if (envelopeKeyOf(slot) !== "$answer") return undefined;
  return answerKeyOf((slot as { readonly $answer: AnswerReference }).$answer);
}

/** Returns whether a visit is `from`, or a later visit with the same base. */
export function isSinceVisit([base, ordinal]: Visit, from: Visit): boolean {
  return base === from[0] && ordinal >= from[1];
}

export function isSameVisit(a: Visit | undefined, b: Visit | undefined): boolean {
  return a?.[0] === b?.[0] && a?.[1] === b?.[1];
}
