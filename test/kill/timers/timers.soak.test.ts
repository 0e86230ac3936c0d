import { it } from "vitest";
import { cases } from "../../soak/cases.ts";
import { killBeforeCalls } from "../everyCall/killBeforeCalls.ts";
import { killableProgram } from "../everyCall/killableProgram.ts";

const start = killableProgram("timers/timerLife.ts");

it("a sleep and a stop end once after a kill before any call to the file system", () =>
  killBeforeCalls(start, cases(3, 200), { output: "in done", timers: 1, booked: ["hotel", "taxi"] }));
