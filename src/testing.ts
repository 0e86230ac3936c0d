export { ConformanceError, SimulatedCrashError, ScriptEndedError } from "./errors/testingErrors.ts";
export type { ConformanceTest } from "./testing/support/Expectations.ts";
export type { LeftOut } from "./testing/support/LeftOut.ts";
export { crashAfter } from "./testing/crashAfter.ts";
export type { RecordLogTest } from "./testing/log/logTest.ts";
export type { RecordLogHarness } from "./testing/log/RecordLogHarness.ts";
export { persistenceStorageProviderConformance } from "./testing/persistenceStorageProviderConformance.ts";
export type { ProviderHarness, ProviderTest } from "./testing/provider/providerTest.ts";
export type { CrashModel, CrashOptions } from "./testing/powerLoss/RecordedTree.ts";
export { type CrashState, SimulatedFileSystem } from "./testing/powerLoss/SimulatedFileSystem.ts";
export type { Fault, FaultKind, FileSystemCall, FileSystemOperation } from "./testing/powerLoss/Fault.ts";
export { recordLogConformance } from "./testing/recordLogConformance.ts";
export {
  type StreamStoreHarness,
  streamStoreConformance,
  type StreamStoreTest,
} from "./testing/streamStoreConformance.ts";
export { scriptedModel } from "./testing/scriptedModel.ts";
export type { ScriptedModelOptions, ScriptedToolCall, ScriptedTurn } from "./testing/scriptedModel.ts";
export { SimulatedClock } from "./testing/SimulatedClock.ts";
