import { it } from "vitest";
import { cases } from "../../soak/cases.ts";
import { killBeforeCalls } from "../everyCall/killBeforeCalls.ts";
import { killableProgram } from "../everyCall/killableProgram.ts";

const start = killableProgram("events/eventLife.ts");

it("events are received once and in order after a kill before any call to the file system", () =>
  killBeforeCalls(start, cases(2, 200), "one two three none"));
