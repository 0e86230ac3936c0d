import type { AnswerReference } from "../values/valueCodec.ts";

/** Identifies one visit: the version of the checkpoint that it follows, and how many visits came between. */
export type Visit = readonly [base: number, ordinal: number];

/** The key of an answer in a state: the visit, which request of it, and the tool call that asked, if any. */
export function answerKey(visit: Visit, ordinal: number, within?: string | null): string {
  return `${visit[0]}.${visit[1]}.${ordinal}${within ? `.${within}` : ""}`;
}

/** The key of the answer that a stored value refers to. */
export function answerKeyOf([base, ordinal, request, within]: AnswerReference): string {
  return answerKey([base, ordinal], request, within);
}
