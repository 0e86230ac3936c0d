import type { ShownValue, LineView } from "./viewParts.ts";

/** A request for input or for the approval of a tool call, a sleep, or the receipt of an event. */
export interface RequestView {
  readonly requestId: string;
  readonly kind: "input" | "approval" | "timer" | "event";
  /** `left` if the run continued without an answer, for example after a rollback. `fired` for an ended timer. */
  readonly state: "open" | "answered" | "rejected" | "expired" | "fired" | "left";
  readonly node: string;
  readonly line: LineView;
  readonly lane: number;
  readonly waitingFor: "user_input" | "external_api" | "human_approval" | "timer" | "event";
  readonly prompt: ShownValue;
  /** The JSON Schema of the answer. */
  readonly schema: ShownValue;
  /** The call that requires approval. Omitted for a request for input. */
  readonly call?: { readonly toolCallId: string; readonly tool: string; readonly input: ShownValue };
  /** The digest of the call to approve, for `answer()`. Omitted for a request for input. */
  readonly digest?: string;
  /** In ISO 8601. */
  readonly askedAt?: string;
  readonly expiresAt?: string;
  /** When a timer ends, in ISO 8601. Omitted for other requests. */
  readonly dueAt?: string;
  readonly answeredAt?: string;
  /** The answer, if the request was answered. */
  readonly answer?: ShownValue;
  readonly rejection?: string;
  /** The person or system that answered or rejected, as the caller named it. Untrusted. */
  readonly by?: string;
  /** Why the node rejected the previous answer. */
  readonly problems?: readonly { readonly path: string; readonly expected: string }[];
  readonly position: number;
}
