import type { WhenBusy } from "../../index.ts";
import type { StreamStore } from "../../streams/store/StreamStore.ts";
import type { HostedConfig } from "../hosted/HostedAgents.ts";

/** Options of `durableAgent`: the storage and the persistence settings. */
export interface DurableAgentOptions extends HostedConfig {
  /**
   * Stores the texts of a response while the model writes them, so that `attach` in another process returns them. Pass
   * the same store on every server, such as `PostgresStreamStore` of `agent-persistence/streams`. By default, other
   * processes receive only complete responses.
   */
  readonly streams?: StreamStore | undefined;
}

/** Options for the runs of one durable agent. */
export interface BoundAgentOptions {
  /**
   * Identifies the run. With the id of an unfinished run, the call resumes the run. With the id of a finished run, the
   * call replays the run without calling models or tools. Without an id, an unfinished run with equal input is resumed,
   * and any other input starts a new run.
   */
  readonly runId?: string | undefined;
  /**
   * What to do with an unfinished run that has another input. `"finish_first"` finishes that run first. `"abandon"`
   * cancels that run without undoing its effects. By default the call rejects with UnfinishedRunError.
   */
  readonly unfinished?: "finish_first" | "abandon" | undefined;
  /**
   * Handles a run that is in progress, as for `AIAgent.run`. With `"join"`, `stream` returns the stream of that run
   * from its beginning and ignores the given messages. Defaults to `"reject"`.
   */
  readonly whenBusy?: WhenBusy | undefined;
}
