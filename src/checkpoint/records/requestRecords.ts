import type { WaitingFor } from "../status/TaskStatus.ts";
import type { StoredValue } from "../values/valueCodec.ts";
import type { Visit } from "./Visit.ts";

/**
 * A node requests input from outside the run. Written each time the run begins to wait: a reply to an earlier record of the
 * same request is no longer valid.
 */
export interface RequestRecord {
  readonly kind: "request";
  readonly lane: number;
  readonly visit: Visit;
  readonly request: string;
  readonly node: string;
  /** The digest of what is asked. Absent: an earlier version wrote it, and `ordinal` counts requests of all questions. */
  readonly question?: string;
  /** Where in the visit it was made: the id it was given, or which one of its question it is, of the node or of a tool call. */
  readonly id?: string;
  readonly ordinal?: number;
  readonly within?: string;
  /** The calls around the one that it was made in, innermost first. Absent: there is none. */
  readonly around?: readonly string[];
  /** When it was asked, in milliseconds since 1970; the first time, if it was asked again. Absent: an earlier version wrote it. */
  readonly at?: number;
  /** The tool call that needs an approval. Absent: input is asked for. */
  readonly approval?: {
    readonly call: string;
    readonly tool: string;
    /** As it was written. */
    readonly input: StoredValue;
  };
  readonly prompt: StoredValue;
  /** JSON Schema of the answer. */
  readonly schema: StoredValue;
  readonly waitingFor: WaitingFor;
  /** Milliseconds since 1970. */
  readonly expiresAt?: number;
  /** Why the node refused the last answer. */
  readonly problems?: readonly { readonly path: string; readonly expected: string }[];
}

/** A request was answered, or expired. */
export interface ReplyRecord {
  readonly kind: "reply";
  readonly lane: number;
  readonly request: string;
  readonly at: number;
  readonly answer?: StoredValue;
  readonly expired?: true;
  /** It was rejected, and why. */
  readonly rejected?: string;
  /** Who answered or rejected it, as the caller said. Not trusted. Absent: nobody said. */
  readonly by?: string;
}

/** Whether a reply does not let a call begin: it was rejected, not approved, or nobody approved it in time. */
export function isRefusal({ expired, rejected, answer }: ReplyRecord): boolean {
  if (expired || rejected !== undefined) return true;
  return (Object(answer) as { readonly approved?: unknown }).approved === false;
}
