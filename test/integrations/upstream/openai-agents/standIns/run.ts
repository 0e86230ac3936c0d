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
import { RunRecords } from "../../../../../src/integrations/hosted/RunRecords.ts";
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
const states = new WeakMap<AnyState, string>();

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
  const agentId = input instanceof RunState ? agentIdOf(input) : `agent-${runs++}`;
  // States that a test has made by hand are of no durable run.
  if (agentId === undefined)
    return SdkRunner.prototype.run.call(durable.runner, agent, input as never, options as never);
  try {
    return await shown(agentId, await durable.run(agent, input as never, { ...options, agentId } as never));
  } catch (error) {
    noteState(agentId, error);
    throw error;
  }
}

function agentIdOf(state: AnyState): string | undefined {
  const found = state.getInterruptions().map((item) => waiting.get(idOf(item)));
  return states.get(state) ?? found.find((id) => id !== undefined);
}

async function shown(agentId: string, result: AnyResult): Promise<AnyResult> {
  note(agentId, result);
  if (!("completed" in result)) {
    await giveProvidedIds(agentId, result);
    return result;
  }
  const completed = result.completed.then(
    async () => {
      note(agentId, result);
      await giveProvidedIds(agentId, result);
    },
    (error: unknown) => {
      note(agentId, result);
      noteState(agentId, error);
      throw error;
    },
  );
  completed.catch(() => {});
  return new Proxy(result, {
    get: (target, key) => (key === "completed" ? completed : (Reflect.get(target, key) as unknown)),
  });
}

function note(agentId: string, result: AnyResult): void {
  noteState(agentId, result);
  for (const item of result.interruptions) waiting.set(idOf(item), agentId);
}

/** Gives the calls of a finished result the ids of the model, because many tests look for them. */
async function giveProvidedIds(agentId: string, { interruptions, newItems, rawResponses }: AnyResult): Promise<void> {
  if (interruptions.length > 0) return;
  const records = new RunRecords(storage.log, agentId);
  await records.read();
  const ids = new Map(records.calls.map(({ toolCallId, providerToolCallId }) => [toolCallId, providerToolCallId]));
  for (const item of [...newItems.map(({ rawItem }) => rawItem), ...rawResponses.flatMap(({ output }) => output)]) {
    const callId = item && "callId" in item ? ids.get(item.callId ?? "") : undefined;
    if (callId !== undefined) Object.assign(item as object, { callId });
  }
}

function noteState(agentId: string, carrier: unknown): void {
  const { state } = Object(carrier) as { readonly state?: unknown };
  if (state instanceof RunState) states.set(state, agentId);
}

function idOf({ rawItem }: RunToolApprovalItem): string {
  return "callId" in rawItem ? rawItem.callId : (rawItem.id ?? "");
}
