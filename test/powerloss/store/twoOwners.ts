import { Gate } from "./Gate.ts";
import { mustBeRefused } from "./mustBeRefused.ts";
import type { StoreScenario } from "./storeScenarios.ts";

/** Owners that sleep past their lease and wake up. */
export const twoOwners: readonly StoreScenario[] = [
  {
    name: "an owner that slept and appends",
    async play(stage) {
      const sleeper = stage.start();
      await sleeper.open();
      await sleeper.append("a");
      const other = stage.start();
      await other.open();
      await sleeper.intrude("too late");
      await other.look();
      await other.append("b");
      await other.release();
    },
  },
  {
    name: "an owner that slept in its compaction",
    async play(stage) {
      const gate = new Gate();
      const sleeper = stage.start(gate.through);
      await sleeper.open();
      for (const text of ["a", "b", "c"]) await sleeper.append(text);
      gate.close();
      const pruned = mustBeRefused("compaction", () => sleeper.prune(2));
      await gate.reached();
      const other = stage.start();
      await other.open();
      await other.append("d");
      gate.open();
      await pruned;
      await other.look();
      await other.append("e");
      other.kill();
    },
  },
];
