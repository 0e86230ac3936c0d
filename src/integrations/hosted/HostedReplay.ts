import type { z } from "zod";
import { abortSignalSchema, nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import type { ReplayResult } from "../../replay/run/replayRecording.ts";

/** Options of a replay of a stored run. */
export interface HostedReplayOptions {
  /** Defaults to the newest run of the agent. */
  readonly runId?: string | undefined;
  /** Stops the replay with the signal's reason. Defaults to no signal. */
  readonly signal?: AbortSignal | undefined;
}

/** The result of a replay of a stored run. The matcher `toMatchRecording` accepts it. */
export interface HostedReplay<Result> extends Pick<ReplayResult, "matches" | "divergence" | "status"> {
  /** The result of the agent, if the replayed run has completed. */
  readonly result?: Result;
}

export const hostedReplaySchema: z.ZodType = strictOptions(() => ({
  runId: nonEmptyString.optional(),
  signal: abortSignalSchema.optional(),
}));
