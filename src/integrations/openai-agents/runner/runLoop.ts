import { Runner } from "@openai/agents-core";
import { withoutUndefined } from "../../../internal/withoutUndefined.ts";
import type { AnySdkAgent, AnyResult, AnyStream, AnyState } from "../wrapped/AnyAgent.ts";
import { wrappedAgent } from "../wrapped/durableAgent.ts";
import type { DurableRun } from "../wrapped/DurableRun.ts";
import { givenOriginals } from "../wrapped/originals.ts";
import { sessionInRun } from "../wrapped/sessionInRun.ts";
import type { JoinedStream } from "./JoinedStream.ts";
import { type OnStop, runToEnd } from "./runToEnd.ts";
import { errorWithOriginalAgents, withOriginalAgents } from "./withOriginalAgents.ts";

type Run = Runner["run"];
export type RunInput = Exclude<Parameters<Run>[1], AnyState>;
export type SdkOptions = Omit<NonNullable<Parameters<Run>[2]>, "stream">;

export interface LoopRequest {
  readonly runner: Runner;
  readonly agent: AnySdkAgent;
  readonly input: RunInput;
  readonly options: SdkOptions;
}

/** The SDK's `run`, saved before it is patched. */
// oxlint-disable-next-line typescript/unbound-method -- it is called with its runner
export const runOfSdk: Run = Runner.prototype.run;

/** Runs an agent inside a durable run, including all approvals. */
export async function runLoop(
  run: DurableRun,
  { runner, agent, input, options }: LoopRequest,
  onStop?: OnStop<AnyResult>,
): Promise<AnyResult> {
  const given = optionsIn(run, options);
  const durable = wrappedAgent(agent, run);
  const begin = async (from: RunInput | AnyState) =>
    (await runOfSdk.call(runner, durable, from, given as never)) as AnyResult;
  return withOriginals(run, agent, () => runToEnd(run, input, begin, onStop));
}

/** Streams like {@link runLoop}. The streams are added to `joined`. */
export async function streamLoop(
  run: DurableRun,
  { runner, agent, input, options }: LoopRequest,
  joined: JoinedStream,
  onStop?: OnStop<AnyStream>,
): Promise<AnyStream> {
  const given = { ...optionsIn(run, options), stream: true } as const;
  const durable = wrappedAgent(agent, run);
  const begin = async (from: RunInput | AnyState) => {
    const round = (await runOfSdk.call(runner, durable, from, given as never)) as unknown as AnyStream;
    await joined.add(round);
    return round;
  };
  return withOriginals(run, agent, () => runToEnd(run, input, begin, onStop));
}

async function withOriginals<Result extends AnyResult | AnyStream>(
  run: DurableRun,
  agent: AnySdkAgent,
  loop: () => Promise<Result>,
): Promise<Result> {
  try {
    return withOriginalAgents(await loop(), agent, run);
  } catch (error) {
    throw errorWithOriginalAgents(error, agent, run);
  }
}

function optionsIn(run: DurableRun, options: SdkOptions): SdkOptions {
  const { session, callModelInputFilter } = options;
  return {
    ...options,
    ...(session && { session: sessionInRun(session, run) }),
    ...(callModelInputFilter && { callModelInputFilter: givenOriginals(callModelInputFilter) }),
  };
}

/** Returns the options that a state passes to its resumed run, as in the SDK. The usage is counted from the records. */
export function optionsOfState(state: AnyState): Partial<SdkOptions> {
  return withoutUndefined({
    context: state._context.context as unknown,
    maxTurns: state._maxTurns,
    conversationId: state._conversationId,
    previousResponseId: state._previousResponseId,
    reasoningItemIdPolicy: state._reasoningItemIdPolicy,
  });
}
