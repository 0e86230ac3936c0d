import type { Stage } from "./Stage.ts";

/** Something that processes do to a store. */
export interface StoreScenario {
  readonly name: string;
  readonly play: (stage: Stage) => Promise<void>;
}

const sectors = (count: number) => "text ".repeat(count * 100);

export const storeScenarios: readonly StoreScenario[] = [
  {
    name: "appends of several sizes",
    async play(stage) {
      const one = stage.start();
      await one.open();
      for (const text of ["a", sectors(3), "c", sectors(1)]) await one.append(text);
      await one.release();
    },
  },
  {
    name: "owners that die one after another",
    async play(stage) {
      for (const owner of ["one", "two", "three"]) {
        const process = stage.start();
        await process.open();
        await process.append(`${owner} ${sectors(2)}`);
        await process.append(owner);
        process.kill();
      }
    },
  },
  {
    name: "many short runs",
    async play(stage) {
      for (let run = 1; run <= 5; run++) {
        const process = stage.start();
        await process.open();
        if (run !== 3) await process.append(`run ${run}`);
        await process.release();
      }
    },
  },
  {
    name: "changes of status",
    async play(stage) {
      const one = stage.start();
      await one.open();
      await one.append("begin", { status: "in_progress" });
      await one.append("go on");
      await one.append("fail", { status: "failed" });
      one.kill();
      const two = stage.start();
      await two.open();
      await two.append("end", { status: "completed" });
      await two.release();
    },
  },
  {
    name: "blobs",
    async play(stage) {
      for (const owner of ["one", "two"]) {
        const process = stage.start();
        await process.open();
        await process.append(`${owner} ${sectors(1)}`, { asBlob: true });
        await process.append(`again ${owner} ${sectors(1)}`, { asBlob: true });
        await process.append(`${owner} ${sectors(1)}`, { asBlob: true });
        process.kill();
      }
    },
  },
  {
    name: "compaction",
    async play(stage) {
      const one = stage.start();
      await one.open();
      for (const text of ["a", "b", sectors(2), "d"]) await one.append(text);
      await one.prune(3);
      await one.append("after", { status: "in_progress" });
      one.kill();
      const two = stage.start();
      await two.open();
      await two.append("first of two");
      await two.append("second");
      await two.prune(2);
      await two.release();
    },
  },
  {
    name: "an agent dropped and begun again",
    async play(stage) {
      const one = stage.start();
      await one.open();
      await one.append("a", { status: "in_progress" });
      await one.append("b", { asBlob: true });
      await one.drop();
      const two = stage.start();
      await two.open();
      await two.append("anew", { status: "completed", asBlob: true });
      two.kill();
      const three = stage.start();
      await three.open();
      await three.drop();
    },
  },
];

/** Segments too large to be carried over, which the next ones list. */
export const largeSegments: StoreScenario = {
  name: "large segments",
  async play(stage) {
    for (const size of [140, 135, 1]) {
      const process = stage.start();
      await process.open();
      await process.append(sectors(size));
      await process.append(`after ${size}`);
      process.kill();
    }
  },
};
