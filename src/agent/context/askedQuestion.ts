import { toJSONSchema } from "zod";
import { canonicalText } from "../../checkpoint/values/isSameValue.ts";
import type { WaitingFor } from "../../checkpoint/status/TaskStatus.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { InputRequest } from "./InputRequest.ts";

/** What a request asks, as it is stored. */
export interface AskedQuestion {
  readonly prompt: string;
  /** JSON Schema of the answer. */
  readonly schema: unknown;
  readonly waitingFor: WaitingFor;
}

export function askedQuestion({ prompt, schema, waitingFor = "user_input" }: InputRequest): AskedQuestion {
  return { prompt, schema: toJSONSchema(schema, { unrepresentable: "any", io: "input" }), waitingFor };
}

/** The digest of a tool call that needs an approval, with its input as it was written. An approval counts for this call alone. */
export function approvalDigest(toolName: string, input: unknown, sha256: Sha256): string {
  return sha256.base64url(canonicalText([toolName, input]) ?? "");
}

/** Equal for equal questions only: SHA-256 of the canonical text, in base64url. An answer counts for its question alone. */
export function questionDigest({ prompt, schema, waitingFor }: AskedQuestion, sha256: Sha256): string {
  return sha256.base64url(canonicalText([prompt, schema, waitingFor]) ?? "");
}
