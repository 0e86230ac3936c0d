import type { FileOperation } from "./LockState.ts";

/** A file and what it is reserved for. */
export interface ReservedFile {
  /** Relative to the root of the workspace, with "/". */
  readonly path: string;
  readonly operation: FileOperation;
}

/** Files that are held until they are released or expire. */
export interface Reservation extends AsyncDisposable {
  readonly owner: string;
  /** Each path once, in the order in which they were acquired. */
  readonly files: readonly ReservedFile[];
  /** True until it is released, expires by this process's clock, or is found to be lost. */
  readonly held: boolean;
  /** Puts the expiry off by the time it was reserved for. @throws ReservationLostError when a file was lost. */
  renew(): Promise<void>;
  /** Frees the files, and what was lost stays with who has it. Releasing again does nothing. */
  release(): Promise<void>;
}
