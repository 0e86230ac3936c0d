import { toJSONSchema } from "zod";
import { canonicalText } from "../../checkpoint/values/isSameValue.ts";
import type { WaitingFor } from "../../checkpoint/status/TaskStatus.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { InputRequest, TimerRequest } from "./InputRequest.ts";

export interface AskedQuestion {
  readonly prompt: string;
  /** JSON Schema of the answer. */
  readonly schema: unknown;
  readonly waitingFor: WaitingFor;
}

export function askedQuestion({
  prompt,
  schema,
  waitingFor = "user_input",
}: InputRequest | TimerRequest): AskedQuestion {
  return { prompt, schema: toJSONSchema(schema, { unrepresentable: "any", io: "input" }), waitingFor };
}

/** Digest of a tool call with its input as written. An approval counts only for a call with this digest. */
export function approvalDigest(toolName: string, input: unknown, sha256: Sha256): string {
  return sha256.base64url(canonicalText([toolName, input]) ?? "");
}

/** SHA-256 of the canonical text of a question, in base64url. An answer counts only for a question with this digest. */
export function questionDigest({ prompt, schema, waitingFor }: AskedQuestion, sha256: Sha256): string {
  return sha256.base64url(canonicalText([prompt, schema, waitingFor]) ?? "");
}
