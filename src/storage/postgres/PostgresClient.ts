/**
 * Executes statements. A `Pool` of `pg` or Neon and PGlite implement this interface, and postgres.js needs a wrapper
 * function. Statements may use different connections, because they share no session state.
 */
export interface PostgresClient {
  /** Executes one statement. Values are strings, numbers, bytes and null. May be called without values. */
  query(text: string, values?: PostgresValue[]): PromiseLike<{ readonly rows: readonly object[] }>;
}

/** A value of a statement. */
export type PostgresValue = string | number | Uint8Array | null;

/**
 * Listens to a channel with `LISTEN` on a dedicated connection. A pooler in transaction mode does not support this.
 *
 * @param onWake - called for each notification, with its payload or with the notification of `pg`.
 * @param onReconnect - called after a lost connection is restored, because notifications may be lost.
 */
export type PostgresListen = (
  channel: string,
  onWake: (notification?: string | { readonly payload?: string | undefined }) => void,
  onReconnect: () => void,
) => PromiseLike<{ close(): unknown }>;
