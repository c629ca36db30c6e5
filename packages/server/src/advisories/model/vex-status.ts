/** The statuses of VEX, which OpenVEX and CSAF share. */
export type VexStatus = "not_affected" | "affected" | "fixed" | "under_investigation";
