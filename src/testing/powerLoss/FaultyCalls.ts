import { type Fault, type FaultKind, type FileSystemCall, type FileSystemOperation, strikes } from "./Fault.ts";
import { SimulatedSystemError } from "./SimulatedSystemError.ts";

/** The calls to a file system, and which of them fail. */
export class FaultyCalls {
  readonly made: FileSystemCall[] = [];
  fault: Fault | undefined;

  /** A call begins. */
  begin(operation: FileSystemOperation, path: string): void {
    const fault = this.next(operation, path);
    if (fault !== undefined) throw new SimulatedSystemError(fault, operation, path);
  }

  /** The same for a call that does something before it fails. */
  next(operation: FileSystemOperation, path: string): FaultKind | undefined {
    const number = this.made.push({ operation, path });
    return this.fault && strikes(this.fault, number, operation) ? this.fault.kind : undefined;
  }
}
