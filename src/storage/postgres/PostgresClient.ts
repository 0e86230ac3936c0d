/**
 * What runs statements: a `Pool` of `pg` or of Neon, or PGlite, as they are; postgres.js by one function. Statements may go
 * over different connections: none depends on what another left there.
 */
export interface PostgresClient {
  /** Values are texts, numbers, bytes and null. Without values, the text is one statement as well. */
  query(text: string, values?: PostgresValue[]): PromiseLike<{ readonly rows: readonly object[] }>;
}

/** What a statement is given. */
export type PostgresValue = string | number | Uint8Array | null;

/**
 * Listens to a channel with `LISTEN`, on a connection that stays open: a pooler in transaction mode has none.
 *
 * @param onWake to be called for each notification.
 * @param onReconnect to be called when the connection was lost and is there again: notifications may have been missed.
 */
export type PostgresListen = (
  channel: string,
  onWake: () => void,
  onReconnect: () => void,
) => PromiseLike<{ close(): unknown }>;
