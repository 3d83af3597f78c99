// Which run writes into a folder of checkpoints, so that two of them on one folder never mix their files.
//
// The folder has a record, an empty file whose name says all (names.h); the one with the highest number owns
// the folder. An attempt that begins takes over by giving the record its own name with the next number: of
// two that begin at once one finds it gone and looks again, and a disk that is full has room for it. Nobody
// is asked and no clock is read, so that a new attempt takes over at once from one that died. Whoever had the
// folder looks before it makes a folder, gives one its name or removes one, and finds out. Errors name the
// other run.
//
// Between such a look and what follows it the other may take over; then one whole checkpoint more appears,
// and a client of NFS may take a minute to see a new name. What two runs write is in no case mixed: the names
// of unfinished folders have the run in them, and the one that begins removes those of the other.
#pragma once

#include <optional>
#include <string>

#include "checkpoint/folder/volume.h"
#include "checkpoint/format/names.h"

namespace caravan::checkpoint {

struct Takeover {
  Owner own;                    // with its number
  std::optional<Owner> before;  // who had the folder last
};

// For people.
std::string shown_owner(const Owner& owner);

// An error if a later attempt of the same run is there already.
Result<Takeover> take_over(Volume& volume, Owner own);

// An error if somebody has taken over since.
Status check_owner(const Volume& volume, const Owner& own);

}  // namespace caravan::checkpoint
