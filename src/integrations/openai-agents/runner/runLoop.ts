import { Runner } from "@openai/agents-core";
import { durableAgent } from "../wrapped/durableAgent.ts";
import type { DurableRun } from "../wrapped/DurableRun.ts";
import { givenOriginals, originalOf } from "../wrapped/originals.ts";
import type { JoinedStream } from "./JoinedStream.ts";
import { runToEnd } from "./runToEnd.ts";
import { sessionInRun } from "../wrapped/sessionInRun.ts";
import type { AnyAgent, AnyResult, AnyStream, AnyState } from "../wrapped/AnyAgent.ts";

type Run = Runner["run"];
export type RunInput = Exclude<Parameters<Run>[1], AnyState>;
export type SdkOptions = Omit<NonNullable<Parameters<Run>[2]>, "stream">;

export interface RunRequest {
  readonly runner: Runner;
  readonly agent: AnyAgent;
  readonly input: RunInput;
  readonly options: SdkOptions;
}

/** The SDK's `run`, saved before it is patched. */
// oxlint-disable-next-line typescript/unbound-method -- it is called with its runner
export const runOfSdk: Run = Runner.prototype.run;

/**
 * Runs an agent inside a durable run, including all approvals. `onRound` receives each result, including the last one.
 */
export async function runLoop(
  run: DurableRun,
  { runner, agent, input, options }: RunRequest,
  onRound: (result: AnyResult) => void = () => {},
): Promise<AnyResult> {
  const given = optionsIn(run, options);
  const durable = durableAgent(agent, run);
  const result = await runToEnd(run, input, async (from: RunInput | AnyState) => {
    const round = (await runOfSdk.call(runner, durable, from, given as never)) as AnyResult;
    onRound(round);
    return round;
  });
  return withOriginalAgents(result);
}

/** Streams like {@link runLoop}. The streams are added to `joined`. */
export async function streamLoop(
  run: DurableRun,
  { runner, agent, input, options }: RunRequest,
  joined: JoinedStream,
): Promise<AnyStream> {
  const given = { ...optionsIn(run, options), stream: true } as const;
  const durable = durableAgent(agent, run);
  const result = await runToEnd(run, input, async (from: RunInput | AnyState) => {
    const round = (await runOfSdk.call(runner, durable, from, given as never)) as unknown as AnyStream;
    await joined.add(round);
    return round;
  });
  return withOriginalAgents(result);
}

function optionsIn(run: DurableRun, options: SdkOptions): SdkOptions {
  const { session, callModelInputFilter } = options;
  return {
    ...options,
    ...(session && { session: sessionInRun(session, run) }),
    ...(callModelInputFilter && { callModelInputFilter: givenOriginals(callModelInputFilter) }),
  };
}

/** Restores the user's agents in a result, because users compare them by identity. */
export function withOriginalAgents<Result extends AnyResult | AnyStream>(result: Result): Result {
  const { state, newItems, lastAgent } = result;
  for (const item of newItems) if ("agent" in item) Object.assign(item, { agent: originalOf(item.agent) });
  if (lastAgent) state.setCurrentAgent(originalOf(lastAgent));
  return result;
}
