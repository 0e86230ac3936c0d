import { rm } from "node:fs/promises";
import { readEndState } from "./judge/readEndState.ts";
import { temporaryDirectory } from "./temporaryDirectory.ts";
import { Trace } from "./judge/Trace.ts";
import { WorkerProcess } from "./WorkerProcess.ts";
import type { WorkerOptions } from "./worker/WorkerOptions.ts";

export interface UndisturbedRun {
  /** What it leaves. */
  readonly state: unknown;
  readonly tookMs: number;
  readonly visits: number;
}

/** A run that nobody disturbs. */
export async function undisturbedRun(
  program: string,
  toolCallIds: WorkerOptions["toolCallIds"],
): Promise<UndisturbedRun> {
  const directory = await temporaryDirectory();
  const worker = new WorkerProcess(program, { directory, toolCallIds });
  await worker.hear("ready");
  const began = performance.now();
  await worker.hear("completed");
  const tookMs = performance.now() - began;
  await worker.ended();
  const visits = new Trace(directory).read().filter(({ kind }) => kind === "node").length;
  const state = await readEndState(directory, toolCallIds);
  await rm(directory, { recursive: true });
  return { state, tookMs, visits };
}
