import type { StoredValue } from "../values/valueCodec.ts";
import type { Visit } from "./Visit.ts";

/** What a model answered in a visit. */
export interface AnswerRecord {
  readonly kind: "answer";
  readonly lane: number;
  readonly visit: Visit;
  readonly ordinal: number;
  /** The tool call in which the model was asked; absent: the node itself asked. */
  readonly within?: string;
  /** A digest of what was asked: model, parameters, tools, and how the visit had changed the history. */
  readonly asked?: string;
  readonly node: string;
  readonly message: StoredValue;
}

/** A tool call is about to have its effect. `input` is absent when it stands in the answer that asked for the call. */
export interface IntentRecord {
  readonly kind: "intent";
  readonly lane: number;
  readonly visit: Visit;
  readonly call: string;
  readonly tool: string;
  readonly effect: string;
  readonly node: string;
  readonly input?: StoredValue;
  /** For a call made by code: which of the visit. */
  readonly ordinal?: number;
  /** The tool call in which it was made; absent: the node itself made it. */
  readonly within?: string;
  /** An inverse was registered for the tool: a rollback without it is not whole. */
  readonly inverse?: true;
}

/**
 * A tool call has ended: with an output, with an error, with an output that cannot be stored (`lost`), or by moving the
 * run; or somebody settled what became of it. A call without side effect has no intent; its outcome then carries what the intent would have.
 */
export interface OutcomeRecord {
  readonly kind: "outcome";
  readonly lane: number;
  readonly visit: Visit;
  readonly call: string;
  readonly output?: StoredValue;
  readonly error?: { readonly message: string };
  readonly lost?: { readonly path: string; readonly reason: string };
  readonly moved?: true;
  /** The call waits for an answer to a request that it made: it is made again under the same id once that is there. */
  readonly suspended?: true;
  /** The call was aborted before its tool began: it may be made again under the same id. */
  readonly unstarted?: true;
  /** Who said what became of a call in doubt; absent: it ended so by itself. */
  readonly settled?: "probe" | "handler" | "outside";
  /** Settled: nobody knows whether it had its effect, and the run goes on. */
  readonly unknown?: true;
  /** Settled: it is to be made again under its id, whether it had its effect or not. */
  readonly retry?: true;
  readonly tool?: string;
  readonly effect?: string;
  readonly node?: string;
  readonly input?: StoredValue;
  readonly ordinal?: number;
  readonly within?: string;
  readonly inverse?: true;
}
