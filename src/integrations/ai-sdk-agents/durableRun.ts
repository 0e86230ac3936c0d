import { assertAgentId } from "../../internal/options/assertAgentId.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { functionSchema } from "../../internal/options/optionSchemas.ts";
import { type HostedConfig, HostedAgents } from "../hosted/HostedAgents.ts";
import { type InputProblem, InvalidInputError } from "../../errors/agentErrors.ts";
import { type AiSdkTools, type AiSdkToolsSettings, type Durable, DurableDefinition } from "./Durable.ts";
import type { BoundAgentOptions } from "./DurableAgentOptions.ts";

/** Options of {@link durableRun}. */
export interface DurableRunOptions extends HostedConfig, Omit<BoundAgentOptions, "whenBusy"> {
  /** The id of the durable agent. */
  readonly agentId: string;
  /** The input of the run: any serializable value. A different input starts another run. Defaults to `null`. */
  readonly input?: unknown;
  /** Interrupts the run when aborted. The run can be continued later. */
  readonly abortSignal?: AbortSignal | undefined;
}

/**
 * Runs code durably that calls `generateText`, `streamText` or similar functions. After a crash, the same call
 * continues the run and reuses recorded responses and tool calls. After the end of the run, the call returns the
 * recorded result.
 *
 * Code other than models and tools is not recorded and runs each time. Approvals and rollbacks need `durableAgent`:
 * here, `durable.tools` throws InvalidInputError for a tool with `needsApproval` or `rollback`.
 *
 * @example
 * ```ts
 * const text = await durableRun({ storage, agentId: "report-3", input: "Write it." }, async (durable) => {
 *   const { text } = await generateText({ model: durable.model(model), prompt: "Write it.", abortSignal: durable.signal });
 *   return text;
 * });
 * ```
 *
 * @param options `runId` defaults to a digest of the input
 * @returns the value that `run` returns
 * @throws the error that `run` throws
 * @throws InvalidInputError, InvalidAgentIdError, UnfinishedRunError, RunInputDiffersError or AgentBusyError before
 * `run` is called
 * @throws ToolCallInDoubtError and other errors of this library that end a run
 */
export async function durableRun<Result>(
  { agentId, input = null, runId, unfinished, abortSignal: signal, ...config }: DurableRunOptions,
  run: (durable: Durable) => PromiseLike<Result> | Result,
): Promise<Result> {
  checkSchema(functionSchema(), run, "second argument of durableRun()");
  const hosted = new HostedAgents("durableRun", config, []);
  assertAgentId(agentId);
  const options = { agentId, runId: runId ?? (await hosted.digestOf(input)), unfinished, signal };
  const result = await hosted.run(input, options, async (loop) => run(new RunDefinition(loop, config.redact).handle));
  if (result.status === "waiting")
    throw new TypeError(
      "durableRun() ended as waiting, although it has no approvals. This is a bug of agent-persistence.",
    );
  return result.value;
}

/** Rejects tools with approvals, for which code cannot wait, and inverses, which no rollback would find. */
class RunDefinition extends DurableDefinition {
  override tools<Tools extends AiSdkTools>(tools: Tools, settings?: AiSdkToolsSettings<NoInfer<Tools>>): Tools {
    const given = Object.entries({ ...settings });
    const issues = [
      ...Object.entries(tools).flatMap(([name, tool]) => refused(`tools.${name}`, tool, "needsApproval")),
      ...given.flatMap(([name, each]) => refused(`settings.${name}`, each, "rollback")),
    ];
    if (issues.length > 0) throw new InvalidInputError("tools of durableRun()", issues);
    return super.tools(tools, settings);
  }
}

function refused(path: string, given: unknown, option: "needsApproval" | "rollback"): readonly InputProblem[] {
  const value = (Object(given) as { readonly [name: string]: unknown })[option];
  if (value === undefined || value === false) return [];
  return [{ path: `${path}.${option}`, expected: `expected no ${option}, which needs durableAgent()` }];
}
