"""The Hardware page: components, live telemetry and the doctor."""
