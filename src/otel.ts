export { openTelemetry, type OpenTelemetryOptions } from "./integrations/otel/openTelemetry.ts";
export { Telemetry } from "./telemetry/Telemetry.ts";
