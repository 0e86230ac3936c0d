export {
  attachStream,
  type AttachStreamOptions,
  type StreamChunk,
  type StreamSource,
} from "./streams/follow/attachStream.ts";
export { type AgentStreams, Streams, streams } from "./streams/Streams.ts";
export type { StreamsConfig, StreamWriters } from "./streams/write/StreamWriters.ts";
export { FileStreamStore, type FileStreamStoreOptions } from "./streams/store/FileStreamStore.ts";
export { InMemoryStreamStore } from "./streams/store/StreamStore.ts";
export { PostgresStreamStore, type PostgresStreamStoreOptions } from "./streams/store/PostgresStreamStore.ts";
export {
  type RedisStreamClient,
  RedisStreamStore,
  type RedisStreamStoreOptions,
} from "./streams/store/RedisStreamStore.ts";
export { SqliteStreamStore, type SqliteStreamStoreOptions } from "./streams/store/SqliteStreamStore.ts";
export type { StreamEntry, StreamPlace, StreamStore } from "./streams/store/StreamStore.ts";
export type { PostgresClient, PostgresListen, PostgresValue } from "./storage/postgres/PostgresConnection.ts";
export type { SqliteDatabase, SqliteStatement, SqliteValue } from "./storage/sqlite/SqliteConnection.ts";
