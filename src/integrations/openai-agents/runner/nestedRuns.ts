import { Runner, RunState } from "@openai/agents-core";
import { besideTheRun, currentCall, currentRun } from "../wrapped/currentRun.ts";
import type { DurableRun } from "../wrapped/DurableRun.ts";
import { JoinedStream } from "./JoinedStream.ts";
import { runLoop, runOfSdk, type RunRequest, streamLoop } from "./runLoop.ts";
import { makeDurable } from "../wrapped/runnerConfig.ts";
import type { AnyAgent, AnyResult, AnyStream } from "../wrapped/AnyAgent.ts";

type Given = Parameters<Runner["run"]>;

/**
 * Agents that are tools, and agents that a tool runs, are run by runners that only the SDK knows. While a durable run makes a
 * call, what runners run within it is part of that run. Elsewhere they run as ever.
 */
export function joinNestedRuns(): void {
  if (Runner.prototype.run === nestedRun) return;
  Runner.prototype.run = nestedRun as Runner["run"];
}

async function nestedRun(
  this: Runner,
  agent: AnyAgent,
  input: Given[1],
  options: Given[2],
): Promise<AnyResult | AnyStream> {
  const run = currentRun();
  const call = currentCall();
  const asEver = () => runOfSdk.call(this, agent, input, options as never);
  if (!run) return asEver();
  // The order of such a run is not that of a call, and a state holds agents that are not durable.
  if (call === undefined || input instanceof RunState) return besideTheRun(asEver)();
  makeDurable(this);
  const { stream = false, ...rest } = options ?? {};
  const request: RunRequest = { runner: this, agent, input, options: rest };
  return stream ? streamNested(run, call, request) : run.turnOf(call).runExclusive(() => runLoop(run, request));
}

function streamNested(run: DurableRun, call: string, request: RunRequest): Promise<AnyStream> {
  const joined = new JoinedStream();
  const done = run.turnOf(call).runExclusive(() => streamLoop(run, request, joined));
  return joined.begun(done.then(() => undefined));
}
