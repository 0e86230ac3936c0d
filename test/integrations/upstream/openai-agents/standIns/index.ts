export * from "@openai/agents-core";
export { run, Runner } from "./run.ts";
export { MemorySession } from "./memorySession.ts";
