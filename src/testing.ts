export { SimulatedCrashError } from "./errors/SimulatedCrashError.ts";
export { ScriptEndedError } from "./errors/ScriptEndedError.ts";
export { crashAfter } from "./testing/crashAfter.ts";
export { scriptedModel } from "./testing/scriptedModel.ts";
export { SimulatedClock } from "./testing/SimulatedClock.ts";
