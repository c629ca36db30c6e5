/** The limits of workers that fetch files from addresses: mirrors, and imports that name an address. */

export const fetching = {
  renewMs: 5000,
  pollMs: 1000,
  /** Fetches at the same time, on this server and of one organization: slow sources of one organization leave slots for the others. */
  policy: { slots: 8, maxOfOne: 2 },
} as const;
