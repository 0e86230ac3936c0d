import { isDeepStrictEqual } from "node:util";
import {
  type AgentInputItem,
  type RunConfig,
  Runner as SdkRunner,
  RunState,
  type RunToolApprovalItem,
  type RunResult,
  type StreamedRunResult,
} from "@openai/agents-core";
import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { DurableRunner } from "agent-persistence/openai-agents";
import { MemorySession } from "./memorySession.ts";

// @ts-expect-error -- this file of the package has no declarations beside it
export * from "../../../../../node_modules/@openai/agents-core/dist/run.mjs";

/* oxlint-disable typescript/no-explicit-any -- the SDK declares agents of all kinds so */
type AnyAgent = Parameters<SdkRunner["run"]>[0];
type AnyState = RunState<any, any>;
type AnyResult = RunResult<any, any> | StreamedRunResult<any, any>;
type Input = string | AgentInputItem[] | AnyState;
type Options = NonNullable<Parameters<SdkRunner["run"]>[2]>;

const storage = new InMemoryPersistenceStorageProvider();
let runs = 0;
/** The durable agents, by the calls that they wait for: a state that comes back from its text has these ids. */
const waiting = new Map<string, string>();

/** A runner of the SDK whose runs are durable. A state of an interrupted run stands for the resume of that run. */
export class Runner extends SdkRunner {
  constructor(config: Partial<RunConfig> = {}) {
    super();
    const durable = new DurableRunner({ storage, config });
    const { runner } = durable;
    runner.run = ((agent: AnyAgent, input: Input, options: Options = {} as Options) =>
      runDurably(durable, { agent, input, options })) as SdkRunner["run"];
    return runner as Runner;
  }
}

let defaultRunner: Runner | undefined;

export const run = (async (agent: AnyAgent, input: Input, options: Options) => {
  defaultRunner ??= new Runner();
  return defaultRunner.run(agent, input as string, options as never);
}) as unknown as SdkRunner["run"];

interface Asked {
  readonly agent: AnyAgent;
  readonly input: Input;
  readonly options: Options;
}

async function runDurably(durable: DurableRunner, { agent, input, options }: Asked): Promise<AnyResult> {
  if (options.session instanceof MemorySession) await options.session.ready;
  if (!(input instanceof RunState)) {
    const agentId = `agent-${runs++}`;
    return noted(agentId, await durable.run(agent, input, { ...options, agentId } as never));
  }
  const items = input.getInterruptions();
  const agentId = items.map((item) => waiting.get(idOf(item))).find((id) => id !== undefined);
  // States that a test has made by hand are of no durable run.
  if (agentId === undefined)
    return SdkRunner.prototype.run.call(durable.runner, agent, input as never, options as never);
  const answers = await answersOf(durable, agentId, input);
  const context = options.context ?? input._context;
  return noted(agentId, await durable.resume(agent, { ...options, context, agentId, answers } as never));
}

async function answersOf(durable: DurableRunner, agentId: string, state: AnyState): Promise<Record<string, unknown>> {
  const requests = await durable.agent(agentId).getRequests();
  const items = state.getInterruptions();
  const answers: Record<string, unknown> = {};
  for (const request of requests) {
    if (request.kind !== "approval") continue;
    const item = items.find((each) => isFor(each, request));
    const decision = item && decisionOf(state, item);
    if (decision) answers[request.requestId] = decision;
  }
  return answers;
}

/** Members of the SDK's context that its types leave out. */
interface HostedApprovals {
  _getHostedMcpApprovalStatus(item: RunToolApprovalItem): boolean | undefined;
  _getHostedMcpRejectionMessage(item: RunToolApprovalItem): string | undefined;
}

function decisionOf(state: AnyState, item: RunToolApprovalItem): unknown {
  const context = state._context as AnyState["_context"] & HostedApprovals;
  const toolName = item.name ?? "";
  const callId = idOf(item);
  const isHosted = item.rawItem.type === "hosted_tool_call";
  const approved = isHosted ? context._getHostedMcpApprovalStatus(item) : context.isToolApproved({ toolName, callId });
  if (approved === undefined) return undefined;
  const reason = isHosted ? context._getHostedMcpRejectionMessage(item) : context.getRejectionMessage(toolName, callId);
  return { approved, ...(!approved && reason !== undefined && { reason }) };
}

async function noted(agentId: string, result: AnyResult): Promise<AnyResult> {
  const note = () => {
    for (const item of result.interruptions) waiting.set(idOf(item), agentId);
  };
  if ("completed" in result) result.completed.then(note, () => {});
  else note();
  return result;
}

function idOf({ rawItem }: RunToolApprovalItem): string {
  return "callId" in rawItem ? rawItem.callId : (rawItem.id ?? "");
}

/** The provider makes hosted calls, under its own ids. */
function isFor(
  item: RunToolApprovalItem,
  request: { readonly toolCallId: string; readonly toolName: string; readonly input: unknown },
): boolean {
  const { rawItem } = item;
  if (rawItem.type !== "hosted_tool_call") return idOf(item) === request.toolCallId;
  const { arguments: text } = rawItem.providerData ?? {};
  return (
    rawItem.name === request.toolName &&
    (typeof text !== "string" || isDeepStrictEqual(JSON.parse(text), request.input))
  );
}
