import { assertAgentId } from "../../internal/options/assertAgentId.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { functionSchema } from "../../internal/options/optionSchemas.ts";
import { type HostedConfig, HostedAgents } from "../hosted/HostedAgents.ts";
import { type Durable, DurableDefinition } from "./Durable.ts";
import type { BoundAgentOptions } from "./DurableAgentOptions.ts";

/** What {@link durableRun} runs, and where it is recorded. */
export interface DurableRunOptions extends HostedConfig, Omit<BoundAgentOptions, "whenBusy"> {
  /** The durable identity. */
  readonly agentId: string;
  /** What the run is about: any value that can be stored. Another input is another run. Absent: `null`. */
  readonly input?: unknown;
  /** Aborting it interrupts the run, which can be continued. Absent: it is not aborted. */
  readonly abortSignal?: AbortSignal | undefined;
}

/**
 * Runs code that calls `generateText`, `streamText` and the like, durably. Called again after a crash, it continues: answers
 * of the model are not asked for again, and tools that have ended are not called again. Called again after its end, it only
 * repeats what is recorded, and returns the same result.
 *
 * Code beside models and tools is not recorded, and runs each time.
 *
 * @param options `runId`: default: a digest of the input.
 * @returns what `run` returns.
 * @throws what `run` throws; InvalidInputError, InvalidAgentIdError, UnfinishedRunError, RunInputDiffersError, AgentBusyError
 * before it is called; ToolCallInDoubtError and other errors of the library that end a run.
 */
export async function durableRun<Result>(
  { agentId, input = null, runId, unfinished, abortSignal: signal, ...config }: DurableRunOptions,
  run: (durable: Durable) => PromiseLike<Result> | Result,
): Promise<Result> {
  checkSchema(functionSchema(), run, "second argument of durableRun()");
  assertAgentId(agentId);
  const hosted = new HostedAgents("durableRun", config, []);
  const options = { agentId, runId: runId ?? (await hosted.digestOf(input)), unfinished, signal };
  const result = await hosted.run(input, options, async (loop) => run(new DurableDefinition(loop).handle));
  if (result.status === "waiting") throw new TypeError("A run without approvals does not wait.");
  return result.value;
}
