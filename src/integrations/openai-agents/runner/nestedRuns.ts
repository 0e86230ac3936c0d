import { Runner, RunState } from "@openai/agents-core";
import { type DurableRun, besideTheRun, currentCall, currentRun } from "../wrapped/DurableRun.ts";
import { JoinedStream } from "./JoinedStream.ts";
import { runLoop, runOfSdk, type LoopRequest, streamLoop } from "./runLoop.ts";
import { makeDurable } from "../wrapped/runnerConfig.ts";
import type { AnySdkAgent, AnyResult, AnyStream } from "../wrapped/AnyAgent.ts";

type Given = Parameters<Runner["run"]>;

/**
 * Patches `Runner.prototype.run`, because agents inside tools use runners that only the SDK knows. Runs inside a call
 * of a durable run become part of that run. Other runs are unaffected.
 */
export function joinNestedRuns(): void {
  if (Runner.prototype.run === nestedRun) return;
  Runner.prototype.run = nestedRun as Runner["run"];
}

async function nestedRun(
  this: Runner,
  agent: AnySdkAgent,
  input: Given[1],
  options: Given[2],
): Promise<AnyResult | AnyStream> {
  const run = currentRun();
  const call = currentCall();
  const asEver = () => runOfSdk.call(this, agent, input, options as never);
  if (!run) return asEver();
  // Runs outside of calls have no fixed order, and a RunState contains agents that are not durable. Neither is
  // recorded.
  if (call === undefined || input instanceof RunState) return besideTheRun(asEver)();
  makeDurable(this);
  const { stream = false, ...rest } = options ?? {};
  const request: LoopRequest = { runner: this, agent, input, options: rest };
  return stream ? streamNested(run, call, request) : run.turnOf(call).runExclusive(() => runLoop(run, request));
}

function streamNested(run: DurableRun, call: string, request: LoopRequest): Promise<AnyStream> {
  const joined = new JoinedStream();
  const done = run.turnOf(call).runExclusive(() => streamLoop(run, request, joined));
  return joined.begun(done.then(() => undefined));
}
