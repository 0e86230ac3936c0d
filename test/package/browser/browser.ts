/** What an application in a browser loads: an agent that is durable in memory. */
export { AIAgent, InMemoryPersistenceStorageProvider, Persistence } from "../../../src/index.ts";
