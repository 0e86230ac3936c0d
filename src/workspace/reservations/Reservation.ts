import type { FileOperation } from "./LockState.ts";

/** A file and the operation that it is reserved for. */
export interface ReservedFile {
  /** Relative to the root of the workspace, with "/". */
  readonly path: string;
  readonly operation: FileOperation;
}

/** Files that are held until they are released or expire. `await using` releases them at the end of a block. */
export interface Reservation extends AsyncDisposable {
  readonly owner: string;
  /** Each path once, in the order of acquisition. */
  readonly files: readonly ReservedFile[];
  /** False once the reservation was released, expired by the clock of this process, or turned out to be lost. */
  readonly held: boolean;
  /** Moves the expiry to `ttlMs` from now. @throws ReservationLostError when a file was lost. */
  renew(): Promise<void>;
  /** Frees the files. A file that was lost stays with its new holder. Releasing twice does nothing. */
  release(): Promise<void>;
}
