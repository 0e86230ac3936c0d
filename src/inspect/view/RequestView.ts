import type { LineView } from "./LineView.ts";
import type { ShownValue } from "./ShownValue.ts";

/** Something that was asked from outside: an input, or the approval of a tool call. */
export interface RequestView {
  readonly requestId: string;
  readonly kind: "input" | "approval";
  /** `left`: the line that asked went on without an answer, as after a rollback. */
  readonly state: "open" | "answered" | "rejected" | "expired" | "left";
  readonly node: string;
  readonly line: LineView;
  readonly lane: number;
  readonly waitingFor: "user_input" | "external_api" | "human_approval";
  readonly prompt: ShownValue;
  /** JSON Schema of the answer. */
  readonly schema: ShownValue;
  /** The call that needs the approval. Absent: input is asked for. */
  readonly call?: { readonly toolCallId: string; readonly tool: string; readonly input: ShownValue };
  /** What answer() takes as `digest`. Absent: input is asked for. */
  readonly digest?: string;
  /** ISO 8601. */
  readonly askedAt?: string;
  readonly expiresAt?: string;
  readonly answeredAt?: string;
  /** Only of one that was answered. */
  readonly answer?: ShownValue;
  /** Why it was rejected. */
  readonly rejection?: string;
  /** Who answered or rejected it, as the caller said. Not trusted. */
  readonly by?: string;
  /** Why the node refused the answer before. */
  readonly problems?: readonly { readonly path: string; readonly expected: string }[];
  readonly position: number;
}
