#include "model/inventory.h"

template class std::vector<partita::model::ComputeInstance>;
template class std::vector<partita::model::ComputeInstanceProfile>;
template class std::vector<partita::model::DeviceNode>;
template class std::vector<partita::model::Fault>;
template class std::vector<partita::model::Gpu>;
template class std::vector<partita::model::GpuInstance>;
template class std::vector<partita::model::GpuInstanceProfile>;
template class std::vector<partita::model::GpuLink>;
template class std::vector<partita::model::HiddenHolder>;
template class std::vector<partita::model::PciAddress>;
template class std::vector<partita::model::Placement>;
template class std::vector<partita::model::Process>;
template class std::vector<partita::model::SwitchLinks>;
template class std::vector<partita::model::VfioGpu>;
