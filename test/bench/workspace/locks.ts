import { join } from "node:path";
import { Reservations } from "agent-persistence/workspace";
import { median } from "../measure/statistics.ts";

/** What a reservation costs when many other paths were reserved before. Medians in milliseconds. */
export interface LockFigures {
  readonly otherPaths: number;
  /** To acquire and release a path in a folder in which few others were reserved. */
  readonly fewMs: number;
  /** The same after the other paths. */
  readonly manyMs: number;
}

const otherPaths = 20_000;
const rounds = 300;
const atOnce = 16;

/** The two folders take turns, so that both meet the same device. */
export async function locks(directory: string): Promise<LockFigures> {
  const [few, many] = ["few", "many"].map((name) => new Reservations({ directory: join(directory, name) }));
  if (few === undefined || many === undefined) throw new Error("There are two folders.");
  const paths = Array.from({ length: otherPaths }, (_, at) => `others/${at}.ts`).values();
  const reserveRest = async (): Promise<void> => {
    for (const path of paths) await reserve(many, path);
  };
  await Promise.all(Array.from({ length: atOnce }, reserveRest));
  const times: { readonly fewMs: number; readonly manyMs: number }[] = [];
  for (let round = 0; round < rounds; round++)
    times.push({ fewMs: await reserve(few, `${round}.ts`), manyMs: await reserve(many, `${round}.ts`) });
  return {
    otherPaths,
    fewMs: median(times.map(({ fewMs }) => fewMs)),
    manyMs: median(times.map(({ manyMs }) => manyMs)),
  };
}

/** @returns the milliseconds to acquire and release. */
async function reserve(reservations: Reservations, path: string): Promise<number> {
  const start = performance.now();
  const held = await reservations.acquire([{ path, operation: "write" }], { owner: "bench" });
  await held.release();
  return performance.now() - start;
}
