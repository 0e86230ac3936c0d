import type { WhenBusy } from "../../index.ts";
import type { HostedConfig } from "../hosted/HostedAgents.ts";

/** How agents of the AI SDK are made durable. */
export type DurableAgentOptions = HostedConfig;

/** How to run one durable agent. */
export interface BoundAgentOptions {
  /**
   * Identifies the run. If it names an unfinished run, that run is resumed; if it names a finished one, it is replayed and
   * nothing is called. Default: an unfinished run of equal input is resumed, any other input begins a run.
   */
  readonly runId?: string | undefined;
  /**
   * What to do with another run that is unfinished: finish it first, or end it as cancelled without undoing its effects.
   * Default: reject with UnfinishedRunError.
   */
  readonly unfinished?: "finish_first" | "abandon" | undefined;
  /**
   * What to do while another run is in progress, as for `run` of an AIAgent. With `"join"`, `stream` returns the stream of that
   * run from its beginning, and the given messages are not used. Default: "reject".
   */
  readonly whenBusy?: WhenBusy | undefined;
}
