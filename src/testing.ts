export { ConformanceError } from "./errors/testing/ConformanceError.ts";
export { SimulatedCrashError } from "./errors/testing/SimulatedCrashError.ts";
export { ScriptEndedError } from "./errors/testing/ScriptEndedError.ts";
export type { ConformanceTest } from "./testing/support/defineConformanceTest.ts";
export { crashAfter } from "./testing/crashAfter.ts";
export type { RecordLogTest } from "./testing/log/logTest.ts";
export type { RecordLogHarness } from "./testing/log/logTest.ts";
export { persistenceStorageProviderConformance } from "./testing/persistenceStorageProviderConformance.ts";
export type { ProviderHarness } from "./testing/provider/providerTest.ts";
export type { ProviderTest } from "./testing/provider/providerTest.ts";
export type { CrashModel, CrashOptions } from "./testing/powerLoss/CrashModel.ts";
export type { CrashState } from "./testing/powerLoss/SimulatedFileSystem.ts";
export type { Fault, FaultKind, FileSystemCall, FileSystemOperation } from "./testing/powerLoss/Fault.ts";
export { recordLogConformance } from "./testing/recordLogConformance.ts";
export {
  scriptedModel,
  type ScriptedModelOptions,
  type ScriptedToolCall,
  type ScriptedTurn,
} from "./testing/scriptedModel.ts";
export { SimulatedClock } from "./testing/SimulatedClock.ts";
export { SimulatedFileSystem } from "./testing/powerLoss/SimulatedFileSystem.ts";
