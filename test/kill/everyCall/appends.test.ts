import { describe, it } from "vitest";
import { cases, soak } from "../../soak/cases.ts";
import { sharedEngines } from "../../storage/engines/engines.ts";
import { killableProgram } from "./killableProgram.ts";
import { killBeforeCalls } from "./killBeforeCalls.ts";

/** One table in `npm test`, and two in a soak. */
const engines = sharedEngines.filter(({ name }) => name === "in SQLite" || (soak && name === "in Postgres"));
const [receive, stop] = [killableProgram("events/eventLife.ts"), killableProgram("stop/stopLife.ts")];

describe.each(engines)("after a kill before or after any append $name", ({ place }) => {
  const args = async () => [JSON.stringify(await place())];

  it("events are received once and in order", () => killBeforeCalls(receive, cases(1, 40), "one two three none", args));

  it("a stopped run is paused and continues", () => killBeforeCalls(stop, cases(1, 20), "in first second", args));
});
