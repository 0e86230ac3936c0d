export { ConformanceError, SimulatedCrashError, ScriptEndedError } from "./errors/testingErrors.ts";
export type { ConformanceTest } from "./testing/support/Expectations.ts";
export type { LeftOut } from "./testing/support/Expectations.ts";
export { crashAfter } from "./testing/doubles/crashAfter.ts";
export type { RecordLogTest } from "./testing/conformance/log/logTest.ts";
export type { RecordLogHarness } from "./testing/conformance/log/RecordLogHarness.ts";
export { persistenceStorageProviderConformance } from "./testing/persistenceStorageProviderConformance.ts";
export type { ProviderHarness, ProviderTest } from "./testing/conformance/provider/providerTest.ts";
export type { CrashModel, CrashOptions } from "./testing/powerLoss/RecordedTree.ts";
export { type CrashState, SimulatedFileSystem } from "./testing/powerLoss/SimulatedFileSystem.ts";
export type { Fault, FaultKind, FileSystemCall, FileSystemOperation } from "./testing/powerLoss/Fault.ts";
export { recordLogConformance } from "./testing/recordLogConformance.ts";
export {
  type StreamStoreHarness,
  streamStoreConformance,
  type StreamStoreTest,
} from "./testing/streamStoreConformance.ts";
export { scriptedModel } from "./testing/doubles/scriptedModel.ts";
export type { ScriptedModelOptions, ScriptedToolCall, ScriptedTurn } from "./testing/doubles/scriptedModel.ts";
export { SimulatedClock } from "./testing/doubles/SimulatedClock.ts";
