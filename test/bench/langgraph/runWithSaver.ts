import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { timesOf, timesOfAll, type Figures } from "../Figures.ts";
import { Floor } from "../measure/Floor.ts";
import { StepTimes } from "../measure/StepTimes.ts";
import { diskBytes, heapGrowth } from "../measure/storedBytes.ts";
import type { SaverKind } from "../contestants.ts";
import { openSaver, type OpenSaver } from "./savers.ts";

/** One run to be measured: `floor` is to be written to once in every step, between `enter` and `leave`. */
export interface MeasuredRun {
  readonly saver: OpenSaver["saver"];
  readonly times: StepTimes;
  readonly floor: Floor | undefined;
}

export type Run = (measured: MeasuredRun) => Promise<void>;

export async function timesWithSaver(kind: SaverKind, run: Run, directory: string): Promise<Figures> {
  const data = join(directory, "data");
  await mkdir(data);
  const floor = isInMemory(kind) ? undefined : await Floor.at(join(directory, "floor"));
  const { saver, close } = openSaver(kind, data);
  const times = new StepTimes();
  await run({ saver, times, floor });
  await close();
  await floor?.close();
  if (floor === undefined) return { save: timesOf(times) };
  return { save: timesOf(times), floor: timesOfAll(floor.times), diskBytes: await diskBytes(data) };
}

export function heapOfSaver(kind: SaverKind, run: Run): Promise<number> {
  const { saver } = openSaver(kind, "");
  return heapGrowth(saver, () => run({ saver, times: new StepTimes(), floor: undefined }));
}

function isInMemory(kind: SaverKind): boolean {
  return kind === "memory" || kind === "ours-memory";
}
