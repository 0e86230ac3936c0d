import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { timesOf, timesOfAll, type Figures } from "../Figures.ts";
import { Floor } from "../Floor.ts";
import { StepTimes } from "../StepTimes.ts";
import { diskBytes, liveBytes } from "../storedBytes.ts";
import { openSaver, type OpenSaver, type SaverKind } from "./savers.ts";

/** One run to be measured: `floor` is to be written to once in every step, between `enter` and `leave`. */
export interface MeasuredRun {
  readonly saver: OpenSaver["saver"];
  readonly times: StepTimes;
  readonly floor: Floor | undefined;
}

/** Runs against a new saver and measures what it took and kept. */
export async function runWithSaver(
  kind: SaverKind,
  directory: string,
  run: (measured: MeasuredRun) => Promise<void>,
): Promise<Figures> {
  const data = join(directory, "data");
  await mkdir(data);
  const floor = kind === "memory" ? undefined : await Floor.at(join(directory, "floor"));
  const before = liveBytes();
  const { saver, close } = openSaver(kind, data);
  const times = new StepTimes();
  await run({ saver, times, floor });
  const heapBytes = liveBytes() - before;
  close();
  await floor?.close();
  if (floor === undefined) return { save: timesOf(times), heapBytes };
  return { save: timesOf(times), floor: timesOfAll(floor.times), diskBytes: await diskBytes(data) };
}
